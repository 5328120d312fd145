-- Says who confirmed an address where the writer does not: a new row is believed as little as an import, and a later change is an administrator's.
CREATE OR REPLACE FUNCTION address_is_confirmed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.email_confirmed_by := CASE TG_OP WHEN 'INSERT' THEN 'word' ELSE 'administrator' END;
  RETURN NEW;
END $$;
